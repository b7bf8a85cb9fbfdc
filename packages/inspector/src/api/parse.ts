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
  return isHeld(value, context.source) ? value : JSON.rawJSON(context.source);
}

/** Short fractions (times, shares, money) are accepted as numbers; only numbers that would lose digits stay raw. */
function isHeld(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/[eE].*$/, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");
  return Number.isFinite(value) && !Object.is(value, -0) && digits.length <= 15;
}

/** Yields the data of each server-sent event in order; skips names, ids and comments. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let held: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      held.push(text);
      // A long event arrives in many chunks; each chunk is scanned once.
      if (!text.includes("\n")) continue;
      const ended = held.join("").split("\n");
      held = [ended.pop() ?? ""];
      for (const line of ended) {
        if (line !== "" && line !== "\r") {
          lines.push(line);
          continue;
        }
        const data = dataOf(lines);
        lines = [];
        if (data !== "") yield data;
      }
    }
  } finally {
    await reader.cancel();
  }
}

function dataOf(lines: readonly string[]): string {
  return lines
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line.startsWith("data: ") ? 6 : 5))
    .map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
    .join("\n");
}
