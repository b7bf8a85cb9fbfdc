import { z } from "zod";
import type { ArtifactReference } from "./artifact-store.ts";

const schema = z.strictObject({
  $private: z.strictObject({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    size: z.int().nonnegative(),
  }),
});

/** What stands in a payload in place of private content. */
export type PrivateReference = z.infer<typeof schema>;

/** The value that stands for an artifact in a payload. */
export function privateReference({ digest, size }: ArtifactReference): PrivateReference {
  return { $private: { digest, size } };
}

/** The artifact that a value stands for; `undefined` when it stands for itself. */
export function referenceIn(value: unknown): ArtifactReference | undefined {
  return hasPrivateMember(value) ? schema.safeParse(value).data?.$private : undefined;
}

/** Whether a value could be taken for a reference, well-formed or not. */
export function hasPrivateMember(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$private");
}
