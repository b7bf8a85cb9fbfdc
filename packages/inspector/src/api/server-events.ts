/** The data of each server-sent event of an answer, in order; names, ids and comments are passed over. */
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
      // A long event comes in many pieces, and each is looked at once.
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
