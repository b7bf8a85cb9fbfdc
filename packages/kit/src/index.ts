export {
  AutoResetEvent,
  type Clock,
  Inactivity,
  KeyedQueue,
  Repeater,
  raceAbort,
  SerialQueue,
  SingleFlight,
  settlesWithin,
  sleep,
  systemClock,
} from "./async.ts";
export { exponentialBackoff, retryAfterMs } from "./backoff.ts";
export { FileStamps, LruCache } from "./cache.ts";
export { errorCode, errorMessage, hasCode, JsonError, type JsonFault } from "./errors.ts";
export { createFile, ifExists, readJsonFile, replaceFile, replaceFileIf, syncFolder } from "./files.ts";
export { compilePattern } from "./glob.ts";
export { HIDDEN, hasHidden, quoteLines, visibleJson, visibleText } from "./hidden.ts";
export {
  isClosed,
  isLoopback,
  LoopbackServer,
  type RateState,
  type RequestBody,
  rateHeaders,
  readLimited,
  readRequestBody,
  SseWriter,
  type StreamLimits,
} from "./http.ts";
export {
  exactNumber,
  Floats,
  isSpelledNumber,
  type SpelledNumber,
  spelledNumber,
} from "./json/numbers.ts";
export {
  amountOf,
  duplicatesAtTop,
  excessOf,
  isModest,
  isRecord,
  type JsonObject,
  MAX_NESTING,
  type MessageListener,
  PAYLOAD_LIMITS,
  type ParsedJson,
  parseExact,
  parseJson,
  parseSpelled,
  readJson,
} from "./json/parse.ts";
export { ByteBuffer, type CutLine, LineReader, LineWriter, messageIdIn } from "./lines.ts";
export { faultSentences, memberFaults } from "./member-faults.ts";
export {
  MessageError,
  type MessageFault,
  MessageReader,
  MessageWriter,
} from "./messages.ts";
export { EventTooLarge, readSse, type ServerSentEvent, SseParser, sseText } from "./sse.ts";
export { readTar, TarError, type TarKind, tarNames } from "./tar.ts";
export { fill, fillDeep, type TemplateValues } from "./template.ts";
