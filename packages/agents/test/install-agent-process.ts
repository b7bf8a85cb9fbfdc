// node install-agent-process.ts <agent>: installs an agent where the tests keep theirs, unless it is there already.
import { testAgents } from "./test-agents.ts";

await testAgents().install(process.argv[2] ?? "");
