import { validateHeaderValue } from "node:http";
import { AhpError } from "../../errors/ahp-error.ts";
import type { Credential } from "./credential.ts";

/** A credential as HTTP headers; refuses one that no header can hold. */
export function authHeaders({ kind, value }: Credential): Record<string, string> {
  const [name, text, called] =
    kind === "bearer"
      ? ["authorization", `Bearer ${value}`, "bearer token"]
      : ["x-api-key", value, "API key"];
  try {
    validateHeaderValue(name, text);
  } catch (error) {
    throw new AhpError("authentication", `Invalid ${called}`, { cause: error });
  }
  return { [name]: text };
}
