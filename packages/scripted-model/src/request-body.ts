import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";

const LIMIT = 32 * 1024 * 1024;

const DECODERS: Readonly<
  Record<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** A request that cannot be read, and the status that says so. */
export class UnreadableRequest extends Error {
  override readonly name = "UnreadableRequest";
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Reads a JSON body of at most 32 MiB, packed in any of the ways that agents pack theirs. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > LIMIT) throw new UnreadableRequest(413, "The request is larger than 32 MiB.");
    pieces.push(piece);
  }
  const body = Buffer.concat(pieces);
  if (body.length === 0) return undefined;
  try {
    const decode = DECODERS[request.headers["content-encoding"] ?? ""];
    const text = decode ? await decode(body, { maxOutputLength: LIMIT }) : body;
    return JSON.parse(text.toString("utf8"));
  } catch (cause) {
    throw new UnreadableRequest(400, "The request is not JSON.", { cause });
  }
}
