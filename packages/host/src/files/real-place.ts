import { constants } from "node:fs";
import { open, readlink, realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";

/** As many links as the kernel follows. */
const MOST_LINKS = 40;

/**
 * Where a path leads, also where nothing is: links are followed as far as there are any, and the rest of the path is taken
 * by its names. So a link that leads nowhere lies where it leads to, and whether something is there makes no difference.
 */
export async function realPlace(path: string): Promise<string> {
  const rest = resolve(path).split(sep).filter(Boolean);
  let place: string = sep;
  for (let links = 0; ; ) {
    const name = rest.shift();
    if (name === undefined) return place;
    const next = name === ".." ? resolve(place, "..") : join(place, name);
    const target = name === "." ? "" : await readlink(next).catch(() => undefined);
    if (target === undefined || links === MOST_LINKS) place = next;
    else if (target !== "") {
      links += 1;
      rest.unshift(...target.split(sep).filter(Boolean));
      if (target.startsWith(sep)) place = sep;
    }
  }
}

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
