import { spawn } from "node:child_process";
import { once } from "node:events";

/** Undefined without a desktop. */
export function browserOpener(
  environment: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (environment.CI || environment.SSH_CONNECTION || environment.SSH_TTY) return undefined;
  if (platform === "darwin") return "open";
  const hasDisplay = environment.DISPLAY || environment.WAYLAND_DISPLAY;
  return platform === "linux" && hasDisplay ? "xdg-open" : undefined;
}

/** Returns whether the opener was started. */
export async function openInBrowser(address: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const opener = browserOpener(environment);
  if (opener === undefined) return false;
  const child = spawn(opener, [address], { stdio: "ignore", detached: true });
  child.unref();
  // The opener is not installed.
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}

const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** The address of the page beside an AHP address, with a login code. */
export function pageAddress(ahp: string, code?: string): string {
  const url = new URL("/ui/", ahp);
  if (EVERYWHERE.has(url.hostname)) url.hostname = "127.0.0.1";
  // Browsers do not send the fragment.
  if (code !== undefined) url.hash = code;
  return url.href;
}
