import { spawnSync } from "node:child_process";

/** A command before which a small file system is mounted on a folder, which only its processes see. */
export function inSmallFileSystem(folder: string, size: string): readonly string[] {
  const script = `mount -t tmpfs -o size=${size} none "$0" && exec "$@"`;
  return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, folder];
}

/** Whether this machine allows it. */
export function canMountSmallFileSystem(): boolean {
  const [command = "", ...args] = [...inSmallFileSystem("/mnt", "1m"), "true"];
  return spawnSync(command, args).status === 0;
}
