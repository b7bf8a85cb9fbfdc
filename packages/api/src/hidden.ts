/**
 * Characters that show nothing, or change how others show: controls, direction marks, joiners, tags, unusual spaces,
 * private and unassigned ones, halves of surrogate pairs. The same as the supervisor's, for clients.
 */
export const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]/gu;
