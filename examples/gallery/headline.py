"""A headline: most answers are no, and each changes the posterior."""

import sys

import infopursuit as ip
from infopursuit import plots

HEADLINES = {
    "politics": "senate passes budget bill|president signs trade bill|voters back candidate|court blocks tax law|"
    "president meets senate leaders|new tax plan divides voters|governor vetoes bill|election result goes to court",
    "food": "best pasta recipe for dinner|easy soup for winter|chef shares cake recipe|new cafe opens|ten dinner ideas|"
    "bread recipe without butter|wine to drink with cheese|a soup that children love",
    "sport": "team wins final match|coach leaves team|striker scores twice in final|runner breaks record|"
    "record crowd sees match|young team loses cup final|swimmer wins gold|coach praises young striker",
    "science": "new planet found|study finds record heat|telescope sees old galaxy|virus study begins|"
    "how birds find north|rover lands on planet|study of whales begins|climate record found in ice",
}
texts = [(text, topic) for topic, lines in HEADLINES.items() for text in lines.split("|")]
words = ip.queries.words(size=60, stem=False)
clf = ip.InformationPursuitClassifier(words, strategy=ip.models.naive_bayes(), stopping=ip.Confidence(0.03))
clf.fit([text for text, _ in texts], [topic for _, topic in texts])
axes = plots.heatmap(clf.explain(["young coach wins record final"])[0], truth="sport")
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "headline.png", dpi=110)
