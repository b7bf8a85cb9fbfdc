export type { ExportSource } from "./export/read.ts";
export { verifyExport, verifyFile } from "./export/verify-export.ts";
export { formatReport } from "./format-report.ts";
export type { Progress, VerifyOptions } from "./options.ts";
export { type ConsistencyClaim, verifyConsistency, verifyProof } from "./proof/verify-proof.ts";
export type { Fault, FaultCode, Report, SeenResult } from "./report.ts";
export { VerifyError, type VerifyErrorCode } from "./report.ts";
