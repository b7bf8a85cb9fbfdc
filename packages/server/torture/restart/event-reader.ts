/** One message as a stream told it. */
export interface ToldMessage {
  /** Its place in the log, if it has one. */
  readonly order: number | undefined;
  readonly message: Readonly<Record<string, unknown>>;
}

/** Reads messages from a stream of server-sent events. What the stream ends in the middle of was not told. */
export async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ToldMessage> {
  let held = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (held + part).split("\n\n");
    held = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      yield { order: id === undefined ? undefined : Number(id), message: JSON.parse(data) };
    }
  }
}
