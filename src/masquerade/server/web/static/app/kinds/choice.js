// A choice: one of several options.

import { labelKind } from "../label_kind.js";

export const kind = {
  ...labelKind,
  name: "choice",
  texts: ["options"],
  fields: ["options", "allow_skip"],

  form: ({ options }) => ({ labels: options }),
};
