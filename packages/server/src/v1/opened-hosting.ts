import type { Hosting } from "@reins/host";
import { errorMessage } from "@reins/kit";
import { Refusal } from "../problems/refusal.ts";

/** Waits until agents can be run; refuses with the reason where they cannot. */
export async function openedHosting(open: () => Promise<Hosting>): Promise<Hosting> {
  try {
    return await open();
  } catch (error) {
    throw new Refusal("unavailable", errorMessage(error), {
      cause: error,
    });
  }
}
