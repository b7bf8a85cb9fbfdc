import { entryOf } from "../entry/entry-builder.ts";
import type { LedgerReader } from "../ledger-reader.ts";
import type { ArtifactReader } from "./private-content.ts";
import { privateDigests } from "./private-content.ts";

/** What goes along with the entries. */
export interface ExportOptions {
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
