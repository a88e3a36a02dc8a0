// Everything the participant's page says, in one place, to be translated as a whole.

/** Return e^epsilon as people would say it, never smaller than it is. */
export function factorText(epsilon) {
  if (!known(epsilon)) return "any factor";
  const factor = Math.exp(epsilon);
  if (factor > 1e6) return "a factor of more than a million";
  const scale = factor < 10 ? 10 : 1;
  const rounded = Math.ceil(factor * scale - 1e-9) / scale;
  return `a factor of at most ${rounded.toLocaleString("en")}`;
}

/** Return an epsilon with at most three decimals, never smaller than it is. */
export function epsilonText(epsilon) {
  return known(epsilon) ? `ε ${Math.ceil(epsilon * 1000 - 1e-6) / 1000}` : "without limit";
}

const known = (epsilon) => typeof epsilon === "number" && Number.isFinite(epsilon);

/** Return a day such as 2026-11-21 in words; the day is the server's, in every time zone. */
function dayText(day) {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return day;
  return date.toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });
}

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export const WORDS = {
  intro: {
    questions: (count) => plural(count, "question", "questions"),
    simulated: "Demonstration: some participants of this survey are made up",
    level: (name) => `Privacy level: ${name}`,
    leaves: "Leaves this device",
    leavesList: (count) => [
      count === 1 ? "One masked answer" : `${count} masked answers, one for each question`,
      "A random name for this device, and that it took part",
    ],
    stays: "Stays on this device",
    staysList: ["Your true answers", "Whether the mask changed them"],
    exact: "The exact promise",
    promise: (epsilon, count) =>
      `Whoever sees all that this survey sends from this device can change the odds of a guess ` +
      `about your ${count === 1 ? "answer" : "answers"} by ${factorText(epsilon)} ` +
      `(${epsilonText(epsilon)}).`,
    promiseOne: (epsilon) =>
      `For a guess about a single answer, all else known: by ${factorText(epsilon)} ` +
      `(${epsilonText(epsilon)}).`,
    keeps: (low, high) =>
      low === high
        ? `About ${low} of 100 answers are sent unchanged. Nobody can tell which.`
        : `Between ${low} and ${high} of 100 answers are sent unchanged, depending on the ` +
          `question. Nobody can tell which.`,
    notHidden:
      "Not hidden: that you took part and when, and the network address that every website sees.",
    start: "Start",
  },
  question: {
    progress: (number, count) => `${number} of ${count}`,
    skip: "Prefer not to say",
    maskedToo: "Masked like every other answer",
    choose: "Please choose an answer.",
    back: "Back",
    next: "Next",
  },
  seal: {
    title: "Put on the mask",
    once: "Your answers are masked once. It cannot be repeated.",
    then: "Afterwards you see what will be sent. Until now, nothing has left this device.",
    last: "To change an answer, go back first.",
    back: "Back",
    seal: "Mask my answers",
    sealing: "Masking…",
  },
  review: {
    title: "Your answers, masked",
    odd: "Values that look odd are normal: the mask may change any answer, at random.",
    keeps: (low, high) =>
      low === high
        ? `An answer stays as it is about ${low} times in 100.`
        : `An answer stays as it is between ${low} and ${high} times in 100, depending on the ` +
          `question.`,
    mine: "Yours, stays here",
    sent: "What is sent",
    please:
      "Please send it whatever you see. Sending only what you like would tell something about you.",
    send: "Send",
    sending: "Sending…",
    notYet: "Not sent yet",
    unreachable:
      "The server could not be reached. Your masked answers are kept on this device. Leave this " +
      "page open and it tries again when you are online. They count once, however often it tries.",
    refused: "The server did not take them",
    retry: "Try again",
  },
  done: {
    title: "Thank you",
    sent:
      "Your masked answers have arrived. Your true answers have been deleted from this device.",
    again: "You have already answered",
    once: "Each device answers a survey once. Your true answers are no longer on this device.",
    bill: "Your privacy bill",
    here: "This survey",
    total: (surveys) => `All on this site, ${plural(surveys, "survey", "surveys")}`,
    epsilon: epsilonText,
    meaning: (survey, total, surveys) =>
      `Whoever sees what was sent can change the odds of a guess about your answers to this ` +
      `survey by ${factorText(survey)}` +
      (surveys > 1 ? `, and about all your answers on this site by ${factorText(total)}.` : "."),
    day: (day) => `Sent on ${dayText(day)}`,
    close: "You can close this page.",
  },
  closed: {
    title: "This survey is closed",
    text:
      "Thank you for coming. It no longer takes answers, and nothing was sent from this device.",
    unsent:
      "Your masked answers are still on this device, and it is not known whether they arrived " +
      "before the survey closed.",
    check: "See whether they arrived",
    remove: "Delete my answers from this device",
    removedTitle: "Your answers are deleted",
    removed:
      "Nothing of them is left on this device. It does not answer this survey again.",
  },
  cannot: {
    title: "This survey cannot start here",
    storage:
      "Your browser does not let this page remember anything. Without memory it cannot promise " +
      "that your answers are masked only once, so it does not ask. Allow storage for this site, " +
      "or leave private browsing, and reload.",
    randomness:
      "Your browser gives this page no safe random numbers, so it cannot mask your answers. " +
      "A newer browser will.",
    mask:
      "The mask of this survey is not the one that is promised, so this page does not use it. " +
      "Please tell whoever invited you.",
    damaged:
      "Your answers were masked before, but what this device remembered of it is damaged. To " +
      "keep the promise of a single mask, they are not masked again.",
    write:
      "This device could not keep your masked answers; its storage may be full. Nothing was " +
      "sent. Make room and try again.",
  },
};
