import { spawn } from "node:child_process";
import { once } from "node:events";

/** What opens an address for the person in front of this machine; `undefined` where nobody is, or nothing does. */
export function browserOpener(
  environment: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (environment.CI || environment.SSH_CONNECTION || environment.SSH_TTY) return undefined;
  if (platform === "darwin") return "open";
  const hasDisplay = environment.DISPLAY || environment.WAYLAND_DISPLAY;
  return platform === "linux" && hasDisplay ? "xdg-open" : undefined;
}

/** Opens an address in the browser of a desktop. Says whether that was begun; where there is none, nothing happens. */
export async function openInBrowser(address: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const opener = browserOpener(environment);
  if (opener === undefined) return false;
  const child = spawn(opener, [address], { stdio: "ignore", detached: true });
  child.unref();
  // A desktop without the program that opens things is no desktop.
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}

const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** The page of the Reins that serves AHP at an address, with the code that lets a browser in. */
export function pageAddress(ahp: string, code?: string): string {
  const url = new URL("/ui/", ahp);
  if (EVERYWHERE.has(url.hostname)) url.hostname = "127.0.0.1";
  // Behind the hash: browsers keep that to themselves.
  if (code !== undefined) url.hash = code;
  return url.href;
}
