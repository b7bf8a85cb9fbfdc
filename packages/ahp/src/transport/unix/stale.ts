import { lstat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { errorMessage } from "@reins/kit";
import { AhpError } from "../../errors/ahp-error.ts";

/** Removes a socket that a dead server left behind; refuses to touch anything else. */
export async function removeStale(path: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new AhpError("transport", `Cannot listen on ${path}: ${errorMessage(error)}`, { cause: error });
  });
  if (!there) return;
  if (!there.isSocket())
    throw new AhpError("transport", `Cannot listen on ${path}: a file that is no socket is there`);
  if (await answers(path)) {
    const cause = Object.assign(new Error("address in use"), { code: "EADDRINUSE" });
    throw new AhpError("transport", `Cannot listen on ${path}: another server listens there`, { cause });
  }
  await unlink(path);
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once("connect", () => resolve(true));
  socket.once("error", (error: NodeJS.ErrnoException) =>
    resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT"),
  );
  return promise.finally(() => socket.destroy());
}
