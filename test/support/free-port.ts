import getPort from 'get-port';

/** A port of 127.0.0.1 that is free now, and that this process does not get again for some seconds. */
export const freePort = () => getPort({ host: '127.0.0.1' });
