import { describe } from "vitest";
import { sessionStoreContract } from "../../test/session-store-contract.ts";
import { VolatileSessionStore } from "./session-store.ts";

describe("sessions in the process", () => {
  sessionStoreContract(async () => new VolatileSessionStore());
});
