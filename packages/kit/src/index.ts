export { Repeater, raceAbort, settlesWithin } from "./async.ts";
export { exponentialBackoff } from "./backoff.ts";
export { type Clock, systemClock } from "./clock.ts";
export { errorCode, errorMessage } from "./errors.ts";
export { createFile, replaceFile } from "./files.ts";
export { HIDDEN, hasHidden, quoteLines, visibleJson, visibleText } from "./hidden.ts";
export { isRecord } from "./json.ts";
export { KeyedQueue, SharedLock } from "./locks.ts";
export { LruCache } from "./lru-cache.ts";
