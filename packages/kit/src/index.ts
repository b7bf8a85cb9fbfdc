export { Repeater, raceAbort, settlesWithin, sleep } from "./async.ts";
export { exponentialBackoff } from "./backoff.ts";
export { ByteBuffer, type RequestBody, readLimited, readRequestBody } from "./bytes.ts";
export { type Clock, systemClock } from "./clock.ts";
export { errorCode, errorMessage, hasCode } from "./errors.ts";
export { createFile, replaceFile } from "./files.ts";
export { HIDDEN, hasHidden, quoteLines, visibleJson, visibleText } from "./hidden.ts";
export {
  duplicatesAtTop,
  type ParsedJson,
  parseExact,
  parseJson,
  parseSpelled,
  readJson,
} from "./json/parse.ts";
export { exactNumber, Floats, isSpelledNumber, type SpelledNumber, spelledNumber } from "./json/read.ts";
export { isRecord } from "./json/record.ts";
export { JsonError, type JsonFault, MAX_NESTING } from "./json/scan.ts";
export { type CutLine, LineReader, LineWriter, messageIdIn } from "./lines.ts";
export { AutoResetEvent, KeyedQueue, SharedLock, SingleFlight } from "./locks.ts";
export { LoopbackServer } from "./loopback-server.ts";
export { LruCache } from "./lru-cache.ts";
export { faultSentences, memberFaults } from "./member-faults.ts";
export type { MessageFault } from "./messages/fault.ts";
export { HeldLine } from "./messages/held-line.ts";
export { type JsonObject, type MessageListener, MessageReader } from "./messages/message-reader.ts";
export { MessageError, type MessageErrorCode, MessageWriter } from "./messages/message-writer.ts";
export { EventTooLarge, readSse, type ServerSentEvent, SseParser, sseText } from "./sse.ts";
export { isClosed, SseWriter, type StreamLimits } from "./sse-writer.ts";
export { fill, fillDeep, type TemplateValues } from "./template.ts";
