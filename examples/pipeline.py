"""
Entities in a spaCy pipeline, and how sure each is
==================================================

spaCy's own recogniser of entities gives no probabilities. ``loglinear_ner`` gives an
exact one for each entity, so a program can keep what is sure and ask a person about
the rest.

This example trains it on made-up news, as any component of a pipeline.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from spacy.training import Example

import spacy
from loglinear.spacy import EntityRecognizer

# %%
# The data
# --------
#
# Many names are ambiguous: Jordan is a country and a first name, Lincoln a town and a
# last name. The texts are annotated by the offsets of their entities, as spaCy has it.

PEOPLE = """Jordan Ito|Austin Mbeki|Victoria Lincoln|Georgia Washington|Maria Houston
Sydney Darwin|Chelsea York|Paris London|Amal Silva|Florence Okafor""".replace("\n", "|")
PLACES = """Jordan|Austin|Victoria|Lincoln|Georgia|Houston|Sydney|Darwin|New York
London|Paris|Florence|Washington""".replace("\n", "|")
FIRMS = """Jordan Steel|Bank of Austin|Lincoln Foods|Houston Energy|Darwin and Sons
York Railways|Bank of Florence|Sydney Media""".replace("\n", "|")
NAMES = {"PER": PEOPLE.split("|"), "LOC": PLACES.split("|"), "ORG": FIRMS.split("|")}
TEXTS = """PER , who works for ORG in LOC , declined to comment .
ORG said on Monday that it would leave LOC .
The office of ORG in LOC was closed .
PER joined ORG last year .
Shares of ORG fell after PER left .
PER was born in LOC and lives in LOC .
Flights from LOC to LOC were late .
In LOC , PER met the board of ORG .
PER and PER will speak in LOC .""".split("\n")


def news(nlp, n, seed):
    """n examples."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        text, entities = "", []
        for part in rng.choice(TEXTS).split():
            name = rng.choice(NAMES.get(part, [part]))
            if part in NAMES:
                if part == "PER" and rng.random() < 0.5:
                    name = name.split()[-1]
                entities.append((len(text), len(text) + len(name), part))
            text += f"{name} "
        doc = nlp.make_doc(text.strip())
        found.append(Example.from_dict(doc, {"entities": entities}))
    return found


# %%
# Training
# --------
#
# ``nlp.initialize`` trains. ``nlp.evaluate`` scores, as for any pipeline.

nlp = spacy.blank("en")
ner: EntityRecognizer = nlp.add_pipe("loglinear_ner", config={"l2": 0.5})
nlp.initialize(lambda: news(nlp, 60, seed=0))
scores = nlp.evaluate(news(nlp, 400, seed=1))
print(f"F {scores['ents_f']:.3f} of {', '.join(ner.labels)}")

doc = nlp("Jordan Lincoln left the Bank of Sydney in Florence .")
for ent in doc.ents:
    print(f"{ent.text:18s} {ent.label_}  {ent._.probability:.2f}")

# %%
# What a probability is worth
# ---------------------------
#
# Of the entities above a threshold, how many are right, and how many of all that are
# right are above it?

sure, right, n_gold = [], [], 0
for example in news(nlp, 400, seed=1):
    gold = {(ent.start, ent.end, ent.label_) for ent in example.reference.ents}
    n_gold += len(gold)
    for ent in nlp(example.predicted).ents:
        sure.append(ent._.probability)
        right.append((ent.start, ent.end, ent.label_) in gold)
order = np.argsort(sure)[::-1]
hits = np.cumsum(np.array(right)[order])
precision = hits / np.arange(1, len(hits) + 1)
recall = hits / n_gold

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(recall, precision)
axes.set(xlabel="recall", ylabel="precision", ylim=(None, 1.005))
plt.show()

# %%
# Rules have priority
# -------------------
#
# Entities that a rule has found stay, and the model finds the others.

ruler = nlp.add_pipe("entity_ruler", before="loglinear_ner")
ruler.add_patterns([{"label": "DAY", "pattern": "Monday"}])
ruled = nlp("On Monday , Houston Energy said that it would leave Houston .")
for ent in ruled.ents:
    probability = ent._.probability
    by = "rule" if probability is None else f"{probability:.2f}"
    print(f"{ent.text:18s} {ent.label_}  {by}")
