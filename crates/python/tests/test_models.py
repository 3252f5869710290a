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
        scores = model.decision_function(model.encrypt(client, rows[::5], magnitude=8))
    wanted = fitted.decision_function(rows[::5])
    assert np.abs(model.decrypt_scores(client, scores) - wanted).max() < 1e-3
    predictions = model.decrypt_predictions(client, scores)
    assert (predictions == fitted.predict(rows[::5])).all()
    with pytest.raises(girih.Error, match="last length must be 4"):
        model.encrypt(client, rows[:, :3])
    for wrong in (LogisticRegression(), 5):
        with pytest.raises(TypeError, match="coef_"):
            models.LogisticRegression.from_sklearn(wrong)


def test_classes_and_probabilities_stay_encrypted(iris):
    from sklearn.linear_model import LogisticRegression

    rows, labels = iris
    kept = labels > 0
    rows, labels = rows[kept] - rows[kept].mean(axis=0), labels[kept]
    fitted = LogisticRegression().fit(rows, labels)
    model = models.LogisticRegression.from_sklearn(fitted)
    bound = model.bound(rows.min(axis=0), rows.max(axis=0))
    assert bound >= np.abs(fitted.decision_function(rows)).max()
    picked = rows[::6]
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    with ckks.ServerKey(client.evaluation_keys(maps=[model.matrix]), device="cpu"):
        encrypted = model.encrypt(client, picked, magnitude=4)
        probabilities = model.predict_proba(encrypted, bound)
        classes = model.predict(encrypted, bound, gap=0.05)
    wanted = fitted.predict_proba(picked)[:, 1]
    assert np.abs(model.decrypt_scores(client, probabilities) - wanted).max() < 5e-3
    assert (model.decrypt_classes(client, probabilities) == fitted.predict(picked)).all()
    scores = fitted.decision_function(picked)
    decided = np.abs(scores) > 0.05 * bound
    assert decided.sum() >= 10
    values = model.decrypt_scores(client, classes)
    assert np.abs(values - (scores > 0))[decided].max() < 2e-2
    same = model.decrypt_classes(client, classes) == fitted.predict(picked)
    assert same[decided].all()
    for work in (model.predict, model.predict_proba):
        with pytest.raises(girih.Error, match="positive and finite"):
            work(encrypted, 0)
    with pytest.raises(girih.Error, match=r"each must be \(4,\)"):
        model.bound([0], [1])
    three = models.LogisticRegression(np.eye(3), np.zeros(3), [0, 1, 2])
    with pytest.raises(girih.errors.UnsupportedError, match="3 classes"):
        three.predict(encrypted, 1)


def test_linear_regression(iris):
    from sklearn.linear_model import LinearRegression, Ridge

    rows, _ = iris
    features, width = rows[:, :3], rows[:, 3]
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    for fitted in (LinearRegression().fit(features, width), Ridge().fit(features, width)):
        model = models.LinearRegression.from_sklearn(fitted)
        keys = client.evaluation_keys(maps=[model.matrix], multiplication=False)
        with ckks.ServerKey(keys, device="cpu"):
            widths = model.predict(model.encrypt(client, features[::10], magnitude=8))
        error = model.decrypt_predictions(client, widths) - fitted.predict(features[::10])
        assert np.abs(error).max() < 1e-3
    with pytest.raises(TypeError, match="coef_"):
        models.LinearRegression.from_sklearn(5)
    with pytest.raises(girih.Error, match="one value only"):
        models.LinearRegression.from_sklearn(LinearRegression().fit(features, rows))


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
