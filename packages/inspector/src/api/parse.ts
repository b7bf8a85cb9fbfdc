import { SseParser } from "@reins/kit/sse";

declare global {
  interface JSON {
    rawJSON(text: string): { readonly rawJSON: string };
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Matches numbers that JavaScript may not represent; most texts have none and take the fast path. */
const DELICATE = /(?:^|[[:,\s])-?(?:\d+[.eE]|\d{16}|0(?<=-0))/;

/**
 * Parses a response of the server. A number that JavaScript cannot represent keeps its digits, so that the page shows
 * the number that an approval binds. Browsers without `context.source` read the nearest number.
 */
export function parseExact(text: string): unknown {
  return DELICATE.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined || !("rawJSON" in JSON)) return value;
  return isExact(value, context.source) ? value : JSON.rawJSON(context.source);
}

/** Short fractions (times, shares, money) are accepted as numbers; only numbers that would lose digits stay raw. */
function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/[eE].*$/, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");
  return Number.isFinite(value) && !Object.is(value, -0) && digits.length <= 15;
}

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
