"""Models of a server are loaded whole, also while they are saved again."""

from concurrent.futures import ThreadPoolExecutor

import infopursuit as ip
from infopursuit import shipped
from infopursuit.app.server.registry import load_folder


def save_zoo(models, folder, share):
    """Save a model whose answers depend on ``share``."""
    pursuit = models["animals"].pursuit
    facts = [[0.05 if k % (c + 2) else 0.95 for k in range(5)] for c in range(6)]
    facts[0][0] = share
    model = ip.models.TableModel([1 / 6] * 6, None, facts)
    ip.save(
        ip.generative_pursuit(model, pursuit.queries, classes=pursuit.classes, stopping=ip.Confidence(0.001)), folder
    )


def posterior(pursuit):
    return pursuit.session([("has fur", "yes")]).posterior.tolist()


def test_the_version_is_that_of_the_model_while_others_are_saved(models, tmp_path):
    folder = tmp_path / "zoo"
    posterior_of = {}
    for share in (0.1, 0.3):
        save_zoo(models, folder, share)
        posterior_of[shipped.version(folder)] = posterior(ip.load(folder))
    assert len(posterior_of) == 2

    def save_alternately():
        for share in (0.1, 0.3) * 20:
            save_zoo(models, folder, share)

    with ThreadPoolExecutor() as pool:
        saving = pool.submit(save_alternately)
        while not saving.done():
            offer = load_folder("zoo", folder)
            assert posterior(offer.pursuit) == posterior_of[offer.version]
        saving.result()
