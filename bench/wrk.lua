-- The load of bench/load.ts for wrk. Arguments: the workload as a Lua file (see apply-load.ts), the number of
-- connections, and the seconds of the load. The last line of the output is the result as JSON.
local ffi = require("ffi")
ffi.cdef [[
  struct bench_time { long seconds; long microseconds; };
  int gettimeofday(struct bench_time *time, void *zone);
  int getpid(void);
  int kill(int pid, int signal);
]]
local SIGINT = 2

local clock = ffi.new("struct bench_time")
local function milliseconds()
  ffi.C.gettimeofday(clock, nil)
  return tonumber(clock.seconds) * 1000 + math.floor(tonumber(clock.microseconds) / 1000)
end

local sender
function setup(thread)
  sender = thread
end

-- Of the sending thread, read by done(). The first request is only checked by wrk, and not sent.
sent, started, ended = -1, 0, 0
local head, parts, variables, slots, values, connections, duration
local waiting = 0

function init(arguments)
  local workload = dofile(arguments[1])
  connections, duration = tonumber(arguments[2]), tonumber(arguments[3]) * 1000
  parts, variables, values = workload.parts, workload.variables, {}
  slots = {}
  for index, part in ipairs(parts) do
    if type(part) == "number" then slots[#slots + 1] = { index, part } end
  end
  head = string.format("POST %s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: %s\r\n", workload.path, wrk.host, wrk.port,
    workload.authorization) .. "Content-Type: application/json\r\nContent-Length: "
end

local function body(number, now)
  for index, variable in ipairs(variables) do
    if variable == "milliseconds" then
      values[index] = string.format("%d", now)
    elseif variable == "time" then
      values[index] = os.date("!%Y-%m-%dT%H:%M:%S", math.floor(now / 1000)) .. string.format(".%03dZ", now % 1000)
    else
      values[index] = string.format("%d", variable.base + (number + variable.plus) % variable.modulo)
    end
  end
  for _, slot in ipairs(slots) do
    parts[slot[1]] = values[slot[2] + 1]
  end
  return table.concat(parts)
end

-- wrk asks for the next request of a connection after its last answer. When the time is over, each connection gets an
-- empty one: it is then known of every delivery whether it was accepted, and rows can be compared with answers.
function request()
  local now = milliseconds()
  if sent == 0 then started = now end
  if sent > 0 and now - started >= duration then
    waiting, ended = waiting + 1, now
    if waiting == connections then ffi.C.kill(ffi.C.getpid(), SIGINT) end
    return ""
  end
  sent = sent + 1
  local text = body(sent, now)
  return head .. #text .. "\r\n\r\n" .. text
end

function done(summary, latency)
  local refused = summary.errors.status
  local format = '\n{"startedAt":%d,"endedAt":%d,"acknowledged":%d,"refused":%d,"unanswered":%d,"p50":%.1f,"p99":%.1f}\n'
  io.write(format:format(sender:get("started"), sender:get("ended"), summary.requests - refused, refused,
    sender:get("sent") - summary.requests, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
