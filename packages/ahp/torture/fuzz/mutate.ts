import type { Random } from "../../../../scripts/torture/random.ts";
import { BYTE_MUTATIONS } from "./byte-mutations.ts";
import { JSON_MUTATIONS } from "./json-mutations.ts";
import type { FuzzMessage } from "./message.ts";

const BYTES = Object.entries(BYTE_MUTATIONS);
const JSONS = Object.entries(JSON_MUTATIONS);

/** A message with one or two things wrong with it. The id of its response is unknown. */
export function mutate({ bytes, origin }: FuzzMessage, random: Random): FuzzMessage {
  const first = random.chance(0.6)
    ? mutateJson({ bytes, origin }, random)
    : mutateBytes({ bytes, origin }, random);
  return random.chance(0.15) ? mutateBytes(first, random) : first;
}

/** A message that is longer than ordinary ones, and now and then than allowed. */
export function inflate({ bytes, origin }: FuzzMessage, random: Random): FuzzMessage {
  const length = random.pick([70_000, 1_000_000, 2_097_000, 2_200_000]);
  const text = bytes.toString().replace(/^\{/, () => `{"padding":"${"p".repeat(length)}",`);
  return { bytes: Buffer.from(text), origin: `${origin}, inflated by ${length} bytes` };
}

function mutateJson(message: FuzzMessage, random: Random): FuzzMessage {
  if (!isJson(message.bytes)) return mutateBytes(message, random);
  const [name, mutation] = random.pick(JSONS);
  return {
    bytes: Buffer.from(mutation(message.bytes.toString(), random)),
    origin: `${message.origin}, ${name}`,
  };
}

function mutateBytes({ bytes, origin }: FuzzMessage, random: Random): FuzzMessage {
  const [name, mutation] = random.pick(BYTES);
  return { bytes: mutation(bytes, random), origin: `${origin}, ${name}` };
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
