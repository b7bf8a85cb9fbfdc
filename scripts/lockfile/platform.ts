/** The machines a platform package is for, as npm writes it. */
export interface Platform {
  cpu: string[];
  os?: string[];
  libc?: string[];
}

const SYSTEMS = new Set([
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
]);
const PROCESSORS = new Set(["arm", "arm64", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"]);

/** The platform a package is for, read from its name, or undefined if the name says none. */
export function platformOf(name: string): Platform | undefined {
  const words = name.slice(name.indexOf("/") + 1).split("-");
  const cpu = words.find((word) => PROCESSORS.has(word));
  const os = words.find((word) => SYSTEMS.has(word));
  if (!cpu || (!os && cpu !== "wasm32")) return undefined;
  const libc = os === "linux" && words.map(libraryOf).find((library) => library !== undefined);
  return { ...(os && { os: [os] }), cpu: [cpu], ...(libc && { libc: [libc] }) };
}

function libraryOf(word: string): string | undefined {
  if (word.startsWith("musl")) return "musl";
  if (word.startsWith("gnu")) return "glibc";
  return undefined;
}
