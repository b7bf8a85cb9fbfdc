import { NotDelivered } from "./delivery.ts";

/** How requests are made; a test brings its own. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

const MOST_REDIRECTS = 3;

/**
 * Fetches, following only those redirects that stay with the same origin and keep the method: the credentials of a
 * server go to nobody else.
 */
export async function fetchSameOrigin(fetch: Fetch, url: URL, init: RequestInit): Promise<Response> {
  let place = url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(place, { ...init, redirect: "manual" });
    const location = response.headers.get("location");
    if ((response.status !== 307 && response.status !== 308) || location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, place);
    if (next.origin !== url.origin || redirects >= MOST_REDIRECTS) {
      throw new NotDelivered("it redirects to somewhere else, where its credentials must not go");
    }
    place = next;
  }
}
