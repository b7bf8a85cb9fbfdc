import type { Hosting } from "@reins/host";
import { Refusal } from "../problems/refusal.ts";

/** Waits until agents can be run; refuses with the reason where they cannot. */
export async function openedHosting(open: () => Promise<Hosting>): Promise<Hosting> {
  try {
    return await open();
  } catch (error) {
    throw new Refusal("unavailable", error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}
