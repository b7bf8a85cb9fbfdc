import { SseParser } from "@reins/kit/sse";

/** No event of the server is longer. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/** Yields the data of each server-sent event in order. Some browsers cannot iterate over a stream. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const parser = new SseParser(MAX_EVENT_LENGTH);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const { data } of parser.push(value)) if (data) yield data;
    }
  } finally {
    await reader.cancel();
  }
}
