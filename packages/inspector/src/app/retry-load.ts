const AGAIN_MS = 1_000;

/** What it takes to wait for a server. */
interface PatiencePorts {
  /** Whether the server answers at all. */
  readonly isReachable: () => Promise<boolean>;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const browser: PatiencePorts = {
  isReachable: () =>
    fetch(import.meta.env.BASE_URL, { method: "HEAD", cache: "no-store" }).then(
      () => true,
      () => false,
    ),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * A part of the page that is loaded when it is wanted. While the server cannot be reached that is tried again, because the
 * router would have the browser load everything anew, and so lose the page. What a server that answers does not have
 * belongs to another version of the page, for which just that is right.
 */
export function patient<Part>(load: () => Promise<Part>, ports = browser): () => Promise<Part> {
  return async () => {
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (await ports.isReachable()) throw error;
        await ports.wait(AGAIN_MS);
      }
    }
  };
}
