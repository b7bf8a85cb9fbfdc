import { join } from "node:path";
import { createFile } from "@reins/kit";
import { AccessError } from "./access-error.ts";
import { readPrivate } from "./private-file.ts";
import { newSecret, type RandomBytes } from "./secret.ts";

/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]{16,4096}$/;

/** The token that a home keeps for whoever sits at this machine; made on first use, so that a restart locks nobody out. */
export async function startToken(home: string, randomBytes: RandomBytes): Promise<string> {
  const path = join(home, "start-token");
  const kept = await readPrivate(path);
  if (kept !== undefined) return checked(kept, path);
  const token = `reins_${newSecret(randomBytes)}`;
  if (await createFile(path, `${token}\n`)) return token;
  // Somebody else was first.
  return checked((await readPrivate(path)) ?? "", path);
}

function checked(kept: string, path: string): string {
  const token = kept.trimEnd();
  if (TOKEN.test(token)) return token;
  throw new AccessError("damaged", `${path} holds no token; remove it, and a new one is made`);
}
