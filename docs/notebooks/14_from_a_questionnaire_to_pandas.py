"""
From a questionnaire file to pandas
===================================

You will turn a file with a questionnaire into an open survey, let people answer, and read the result as a pandas table: ten
lines with ``masquerade.client.Surveyor``. You need ``pip install '.[server,frames,plots]'``.
"""

# %%
# A program needs the address of a server and a token. Here a server is started in an empty folder; with a server of your own
# you have both, and skip this block. ``masquerade token create`` prints the token once.

import atexit
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from masquerade import plots
from masquerade.client import Client, Surveyor

folder = Path(tempfile.mkdtemp())
environment = {**os.environ, "MASQUERADE_DATA_DIR": str(folder / "server")}


def masquerade(command, said=""):
    words = [sys.executable, "-m", "masquerade", *command.split()]
    done = subprocess.run(words, input=said, env=environment, capture_output=True, text=True)
    return done.stdout


masquerade("user add ann --role owner --password-stdin", "four words in a row")
token = json.loads(masquerade("token create ann --json"))["token"]
server = subprocess.Popen(
    [sys.executable, "-m", "masquerade", "serve", "--port", "0", "--no-browser"],
    env=environment,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
)
atexit.register(server.terminate)
address = next(filter(None, (re.search(r"http://[\w.:]+", line) for line in server.stdout)))[0]

# %%
# The questionnaire is a file, as the builder of the web pages exports it. Other tools' files are read too: see the page on
# importing a questionnaire.

(folder / "questionnaire.json").write_text(
    """{
      "masquerade": 1,
      "title": "Work and health",
      "levels": ["low"],
      "questions": [
        {"kind": "choice", "id": "ill", "text": "Have you worked while ill?", "options": ["Yes", "No"]},
        {"kind": "rating", "id": "load", "text": "How heavy is your load?", "low": 1, "high": 5}
      ],
      "plan": {"people": 40}
    }"""
)

# %%
# From the file to an open survey. What is wrong in a file is said before anything opens.

surveyor = Surveyor(address, token)
draft = surveyor.create(folder / "questionnaire.json")
print(draft["valid"], draft["errors"])
survey = surveyor.open(draft["token"])
print(survey["state"])

# %%
# You would send ``survey["link"]`` to people now. Here forty made-up people answer with the Python client, which masks each
# answer on its own, as the app does in a browser. The server gets reports only.

chance = random.Random(4)
for number in range(40):
    with Client(address, home=folder / f"person-{number}") as person:
        answers = {"ill": chance.choice(["Yes", "Yes", "No"]), "load": chance.randint(2, 5)}
        person.begin(survey["token"], "low").answer(answers)
print(surveyor.progress(survey["token"])["responses"])

# %%
# Close it, and the result is a table with a row a figure, and its interval.

surveyor.close(survey["token"])
frame = surveyor.table(survey["token"]).to_pandas()
frame[["question", "option", "value", "low", "high"]].dropna().round(2)

# %%
# Everything else is pandas.

ill = frame[(frame["question"] == "ill") & (frame["estimator"] == "within")]
drawn = ill[["option", "value", "low", "high"]].assign(series="estimate")
axes = plots.shares(drawn, title="Have you worked while ill?")
axes.figure

# %%
# The masked reports and their codebook come from the same place: ``masquerade.results`` and ``masquerade.analysis`` read them.

reports = surveyor.reports(survey["token"])
print(len(reports))

# %%
# The server of this page ends here; yours goes on.

surveyor.close_connection()
server.terminate()
server.communicate()
