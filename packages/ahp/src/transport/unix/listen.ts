import { chmod } from "node:fs/promises";
import type { Server } from "node:net";
import { isMainThread } from "node:worker_threads";
import { listening } from "../listening.ts";
import { removeStale } from "./stale.ts";

/** Lets a server listen on a Unix socket that only this user can open, in place of one nobody listens on any more. */
export async function listenOnSocket(listener: Server, path: string): Promise<void> {
  await removeStale(path);
  await listening(listener, path, () => listenPrivately(listener, path));
  await chmod(path, 0o600);
}

/** The socket is made with its final mode, so that there is no moment at which others could open it. */
function listenPrivately(listener: Server, path: string): void {
  if (!isMainThread) return void listener.listen(path);
  const mask = process.umask(0o177);
  try {
    listener.listen(path);
  } finally {
    process.umask(mask);
  }
}
