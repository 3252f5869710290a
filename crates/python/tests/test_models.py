"""Models of scikit-learn, and the examples' helpers."""

import numpy as np
import pytest

import girih
from girih import ckks, models

sklearn = pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(iris, classes):
    from sklearn.linear_model import LogisticRegression

    rows, labels = iris
    kept = labels < classes
    rows, labels = rows[kept], labels[kept]
    fitted = LogisticRegression(max_iter=1000).fit(rows, labels)
    model = models.LogisticRegression.from_sklearn(fitted)
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    keys = client.evaluation_keys(maps=[model.matrix], multiplication=False)
    with ckks.ServerKey(keys, device="cpu"):
        scores = model.decision_function(model.encrypt(client, rows[::5]))
    wanted = fitted.decision_function(rows[::5])
    assert np.abs(model.decrypt_scores(client, scores) - wanted).max() < 1e-3
    predictions = model.decrypt_predictions(client, scores)
    assert (predictions == fitted.predict(rows[::5])).all()
    with pytest.raises(girih.Error, match="last length must be 4"):
        model.encrypt(client, rows[:, :3])
    for wrong in (LogisticRegression(), 5):
        with pytest.raises(TypeError, match="coef_"):
            models.LogisticRegression.from_sklearn(wrong)


def test_decision_tree(iris, client, server):
    from sklearn.tree import DecisionTreeClassifier

    rows, labels = iris
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)
    tree = models.DecisionTree.from_sklearn(fitted, rows, bits=8)
    # Rounding moves few labels.
    assert (tree.predict(rows) == fitted.predict(rows)).sum() >= 145
    circuit = girih.Circuit(tree.netlist, client.parameters, log2_failure=-1.0)
    picked = rows[::15]
    outputs, _ = server.run(circuit, circuit.encrypt(client, tree.quantise(picked)))
    decrypted = circuit.decrypt(client, outputs)["label"]
    assert (decrypted == tree.predict(picked)).sum() >= len(picked) - 1
    with pytest.raises(TypeError, match="tree_"):
        models.DecisionTree.from_sklearn(5, rows)
    with pytest.raises(girih.Error, match=r"\(rows, 4\)"):
        tree.predict(rows[:, :2])
