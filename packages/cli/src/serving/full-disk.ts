import { textOf } from "../errors/render.ts";
import { systemCode } from "../errors/system-code.ts";
import type { Log } from "../log/logger.ts";

const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Keeps a full disk from ending this process: what nobody else answers for, such as a line of the log that found no room,
 * is told and given up. Anything else that nobody caught ends it, as ever. The returned function ends that.
 */
export function outliveFullDisk(log: Pick<Log, "error">): () => void {
  const take = (error: unknown) => {
    if (!isFullDisk(error)) {
      console.error(error);
      process.exit(1);
    }
    log.error({ error: textOf(error) }, "there is no room on the disk; make room, and it goes on");
  };
  process.on("uncaughtException", take);
  return () => void process.off("uncaughtException", take);
}

/** Whether an error, or what caused it, says that there is no room on the disk. */
function isFullDisk(error: unknown): boolean {
  if (FULL.has(systemCode(error) ?? "")) return true;
  return error instanceof Error && error.cause !== undefined && isFullDisk(error.cause);
}
