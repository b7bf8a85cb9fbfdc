import { z } from "zod";

/** A payload sealed for an audience. */
export const Envelope = z.strictObject({
  audience_label: z.string(),
  encrypted_key: z.string(),
  ciphertext: z.string(),
});
export type Envelope = z.infer<typeof Envelope>;

/** The payload of an entry whose content is in its envelope. */
export const SEALED_PAYLOAD = Object.freeze({ sealed: true });
