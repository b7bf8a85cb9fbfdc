/** The code of the host. It is not loaded before an agent is wanted. */
export type HostCode = typeof import("@reins/host");
