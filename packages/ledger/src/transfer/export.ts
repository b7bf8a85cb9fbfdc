import { isRecord } from "@reins/kit";
import { referenceIn } from "../artifacts/private-payload.ts";
import { entryOf } from "../entry/entry-builder.ts";
import type { LedgerReader } from "../ledger-reader.ts";

/** Reads private content as it is kept: salt, then content. */
interface ArtifactReader {
  readRaw(digest: string): Promise<Uint8Array | undefined>;
}

/** The digests of the private content that a payload refers to. */
function* privateDigests(payload: unknown): Generator<string> {
  const reference = referenceIn(payload);
  if (reference) yield reference.digest;
  else if (Array.isArray(payload)) for (const item of payload) yield* privateDigests(item);
  else if (isRecord(payload)) for (const member of Object.values(payload)) yield* privateDigests(member);
}

/** What goes along with the entries. */
interface ExportOptions {
  /** Where private content is kept; with it, what was not erased is exported too. */
  readonly artifacts?: ArtifactReader;
}

const PAGE = 1_000;

/**
 * The whole ledger as lines of `docs/ledger-format.md`, up to its newest checkpoint. Reads page by page, so it takes no
 * more memory for a long ledger than for a short one.
 */
export async function* exportLines(
  ledger: LedgerReader,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  const { size } = await ledger.checkpoint();
  yield line({
    kind: "header",
    format: "reins-ledger/1",
    origin: ledger.origin,
    log_key: ledger.logKey,
    size,
  });
  let checkpoints = await ledger.checkpoints(0, PAGE);
  const exported = new Set<string>();
  for (let next = 0; next < size; ) {
    const page = await ledger.readStored({ after: next - 1, limit: Math.min(PAGE, size - next) });
    if (page.length === 0) break;
    for (const { seq, cid, body } of page) {
      yield `{"kind":"entry","seq":${seq},"entry":{"cid":"${cid}",${body.slice(1)}}\n`;
      if (options.artifacts) yield* artifactLines(entryOf(cid, body).payload, options.artifacts, exported);
      next = seq + 1;
      while (checkpoints[0]?.size === next) {
        yield line({ kind: "checkpoint", note: checkpoints[0].note });
        checkpoints.shift();
        if (checkpoints.length === 0) checkpoints = await ledger.checkpoints(next, PAGE);
      }
    }
  }
  yield line({ kind: "end", size });
}

/** The private content of a payload, each piece once in an export. */
async function* artifactLines(
  payload: unknown,
  artifacts: ArtifactReader,
  exported: Set<string>,
): AsyncGenerator<string> {
  for (const digest of privateDigests(payload)) {
    const bytes = exported.has(digest) ? undefined : await artifacts.readRaw(digest);
    exported.add(digest);
    if (bytes) yield line({ kind: "artifact", digest, bytes: Buffer.from(bytes).toString("base64") });
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
