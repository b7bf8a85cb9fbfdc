import { describe } from "vitest";
import { sessionStoreContract } from "./testing/contract.ts";
import { VolatileSessionStore } from "./volatile-store.ts";

describe("sessions in the process", () => {
  sessionStoreContract(async () => new VolatileSessionStore());
});
