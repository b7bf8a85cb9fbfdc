import { pipeline } from "node:stream";
import { pipeline as pipelineEnd } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ArtifactStore, exportLines } from "@reins/ledger";
import { systemCode } from "../../../errors.ts";
import { writeNewFile } from "../../../files.ts";
import { artifactsIn } from "../../../home.ts";
import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { noticeOnStderr } from "../../../output.ts";
import { untilStopped } from "../../../serving/stop.ts";
import { inPieces } from "./pieces.ts";

/** The flags of `reins ledger export` as they were written. */
export interface ExportFlags extends LedgerFlags {
  readonly gzip?: boolean;
  readonly withPrivate?: boolean;
}

/** Writes the ledger of a home to a file, or to stdout. */
export async function exportLedger(file: string, flags: ExportFlags): Promise<void> {
  await readLedger(flags, async (ledger, home) => {
    const artifacts = flags.withPrivate && { artifacts: new ArtifactStore(artifactsIn(home)) };
    const pieces = inPieces(exportLines(ledger, { ...artifacts }));
    const bytes = flags.gzip || file.endsWith(".gz") ? compressed(pieces) : pieces;
    if (file === "-") return writeToStdout(bytes);
    await untilStopped((signal) => writeNewFile(file, bytes, signal));
    noticeOnStderr(flags.json)(
      `The ledger ${ledger.origin} is in ${file}. To check it: reins ledger verify ${file}`,
    );
  });
}

function compressed(pieces: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  // What goes wrong ends the stream that is read; there is nobody else to tell.
  return pipeline(pieces, createGzip(), () => undefined);
}

/** A reader that has seen enough and gone, such as `head`, is no error. */
async function writeToStdout(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipelineEnd(pieces, process.stdout, { end: false });
  } catch (error) {
    if (systemCode(error) !== "EPIPE") throw error;
  }
}
