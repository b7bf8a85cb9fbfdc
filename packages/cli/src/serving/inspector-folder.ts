import { fileURLToPath } from "node:url";

/**
 * Where the built inspector lies: in the package beside this one. It is found by its place, not imported, because the
 * page speaks only the wire and nothing here may depend on it.
 */
export function inspectorFolder(): string {
  return fileURLToPath(new URL("../../../inspector/dist", import.meta.url));
}
