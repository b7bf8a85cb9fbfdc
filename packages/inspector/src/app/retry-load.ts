const RETRY_MS = 1_000;

interface RetryPorts {
  /** Whether the server responds at all. */
  readonly isReachable: () => Promise<boolean>;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const browser: RetryPorts = {
  isReachable: () =>
    fetch(import.meta.env.BASE_URL, { method: "HEAD", cache: "no-store" }).then(
      () => true,
      () => false,
    ),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * Loads a part of the page lazily and retries while the server is unreachable, because the router would otherwise
 * reload the whole page and lose its state. If the server responds without that part, the page is outdated, and a
 * reload is right.
 */
export function retryLoad<Part>(load: () => Promise<Part>, ports = browser): () => Promise<Part> {
  return async () => {
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (await ports.isReachable()) throw error;
        await ports.wait(RETRY_MS);
      }
    }
  };
}
