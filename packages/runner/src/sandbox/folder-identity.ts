import { constants } from "node:fs";
import { open, readlink, realpath } from "node:fs/promises";

/**
 * What a folder is, whatever its name leads to later: device and inode, as `stat -c %d:%i` prints them. Nothing where the
 * path is no folder, or leads through a link by now: what is described lies where the path says.
 */
export async function folderIdentity(real: string): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const folder = await open(real, flags).catch(() => undefined);
  if (!folder) return undefined;
  try {
    const { dev, ino } = await folder.stat({ bigint: true });
    // The kernel says where the opened folder lies; elsewhere the name is followed again.
    const there = await readlink(`/proc/self/fd/${folder.fd}`).catch(() => realpath(real));
    return there === real ? `${dev}:${ino}` : undefined;
  } finally {
    await folder.close();
  }
}
