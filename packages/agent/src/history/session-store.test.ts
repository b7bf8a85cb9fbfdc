import { describe } from "vitest";
import { sessionStoreContract } from "../../test/session-store-contract.ts";
import { VolatileSessionStore } from "./session-store.ts";

describe("a session store in memory", () => {
  sessionStoreContract(async () => new VolatileSessionStore());
});
