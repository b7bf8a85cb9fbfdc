const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** The page of the Reins that serves AHP at an address, with the code that lets a browser in. */
export function pageAddress(ahp: string, code?: string): string {
  const url = new URL("/ui/", ahp);
  if (EVERYWHERE.has(url.hostname)) url.hostname = "127.0.0.1";
  // Behind the hash: browsers keep that to themselves.
  if (code !== undefined) url.hash = code;
  return url.href;
}
