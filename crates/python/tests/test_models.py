"""Models of scikit-learn: what they compute, and that results know what they are."""

import pickle

import numpy as np
import pytest

import girih
from girih import ckks, errors, models

sklearn = pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def service(model, **more):
    """Keys of a new client, and a server of them."""
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    return client, ckks.ServerKey(model.evaluation_keys(client, **more), device="cpu")


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(iris, classes):
    from sklearn.linear_model import LogisticRegression

    rows, labels = iris
    kept = labels < classes
    rows, labels = rows[kept], labels[kept]
    names = np.array(["setosa", "versicolor", "virginica"])[labels]
    fitted = LogisticRegression(max_iter=1000).fit(rows, names)
    model = models.LogisticRegression.from_sklearn(fitted)
    assert "4 features" in repr(model) and "versicolor" in repr(model)
    client, server = service(model, multiplication=False)
    encrypted = model.encrypt(client, rows, magnitude=8)
    # 128 rows of four slots to a vector of 512.
    assert len(encrypted) == len(rows) and encrypted.vectors.shape == (-(-len(rows) // 128), 512)
    with server:
        scores = model.decision_function(encrypted)
        alone = model.decision_function(model.encrypt(client, rows[7], magnitude=8))
    wanted = fitted.decision_function(rows)
    assert model.decrypt(client, scores).shape == wanted.shape
    assert np.abs(model.decrypt(client, scores) - wanted).max() < 1e-3
    assert np.abs(model.decrypt(client, alone) - wanted[7]).max() < 1e-3
    assert (model.decrypt_labels(client, scores) == fitted.predict(rows)).all()
    assert model.decrypt_labels(client, alone) == fitted.predict(rows)[7]
    # They travel with what they are.
    for again in (pickle.loads(pickle.dumps(scores)), models.Rows.from_bytes(scores.to_bytes())):
        assert (again.kind, again.rows) == ("scores", len(rows))
        assert (model.decrypt_labels(client, again) == fitted.predict(rows)).all()
    assert girih.worker.on_host(scores).vectors.device is None
    with pytest.raises(girih.Error, match="last length must be 4"):
        model.encrypt(client, rows[:, :3])
    with pytest.raises(errors.MismatchError, match="scores where features are needed"), server:
        model.decision_function(scores)
    with pytest.raises(errors.MismatchError, match="features where scores"):
        model.decrypt(client, encrypted)
    with pytest.raises(errors.MismatchError, match="of another model"):
        models.LinearRegression([1] * 9, 0).predict(encrypted)
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
    assert model.bound(-3, 3) == model.bound([-3] * 4, [3] * 4) > bound
    client, server = service(model)
    encrypted = model.encrypt(client, rows, magnitude=4)
    with server:
        probabilities = model.predict_proba(encrypted, bound)
        predicted = model.predict(encrypted, bound, gap=0.05)
        scores = model.decision_function(encrypted)
    got = model.decrypt(client, probabilities)
    assert np.abs(got - fitted.predict_proba(rows)).max() < 5e-3
    # One threshold for scores, another for the rest: whoever decrypts cannot take the wrong one.
    wanted = fitted.predict(rows)
    assert (model.decrypt_labels(client, scores) == wanted).all()
    assert (model.decrypt_labels(client, probabilities) == wanted).all()
    decided = np.abs(fitted.decision_function(rows)) > 0.05 * bound
    assert decided.sum() >= 60
    assert (model.decrypt(client, predicted) == wanted)[decided].all()
    for work in (model.predict, model.predict_proba):
        with pytest.raises(girih.Error, match="positive and finite"):
            work(encrypted, 0)
    with pytest.raises(girih.Error, match=r"each must be a number or \(4,\)"):
        model.bound([0], [1])
    with pytest.raises(girih.Error, match="above its high"):
        model.bound(1, 0)
    low = client.encrypt(np.zeros((1, 512)), level=3)
    with server, pytest.raises(errors.OutOfLevelsError, match="sets with as many are .*CKKS_D40"):
        model.predict_proba(models.Rows("features", low, 1, 4), bound)
    three = models.LogisticRegression(np.eye(3), np.zeros(3), [0, 1, 2])
    with pytest.raises(girih.errors.UnsupportedError, match="3 classes"):
        three.predict(encrypted, 1)


def test_linear_regression(iris):
    from sklearn.linear_model import LinearRegression, Ridge

    rows, _ = iris
    features, width = rows[:, :3], rows[:, 3]
    for fitted in (
        LinearRegression().fit(features, width), Ridge().fit(features, width),
        # Several values, more of them than features.
        LinearRegression().fit(rows[:, :2], rows[:, [0, 1, 2, 3, 2]]),
    ):  # fmt: skip
        model = models.LinearRegression.from_sklearn(fitted)
        client, server = service(model, multiplication=False)
        table = features if model.features == 3 else rows[:, :2]
        with server:
            values = model.predict(model.encrypt(client, table[:70], magnitude=8))
        got = model.decrypt(client, values)
        assert got.shape == fitted.predict(table[:70]).shape
        assert np.abs(got - fitted.predict(table[:70])).max() < 1e-3
    constant = models.LinearRegression([0, 0], 2.5)
    client, server = service(constant)
    with server:
        values = constant.predict(constant.encrypt(client, [[1, 0.5]]))
    assert np.abs(constant.decrypt(client, values) - 2.5).max() < 1e-3
    with pytest.raises(TypeError, match="coef_"):
        models.LinearRegression.from_sklearn(5)
    with pytest.raises(errors.MismatchError, match="512"):
        models.LinearRegression(np.ones(600), 0).per_vector("INSECURE_CKKS_D40_N10")


def test_pipelines(iris):
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

    rows, labels = iris
    for steps in ([StandardScaler()], [MinMaxScaler(), PCA(3)], []):
        fitted = make_pipeline(*steps, LogisticRegression(max_iter=1000)).fit(rows, labels)
        model = models.LogisticRegression.from_sklearn(fitted)
        scores = rows @ model._weights.T + model._intercepts
        assert np.abs(scores - fitted.decision_function(rows)).max() < 1e-6
    client, server = service(model, multiplication=False)
    with server:
        scores = model.decision_function(model.encrypt(client, rows[:9], magnitude=8))
    assert (model.decrypt_labels(client, scores) == fitted.predict(rows[:9])).all()
    for step in (PolynomialFeatures(2), MinMaxScaler(clip=True)):
        fitted = make_pipeline(step, LogisticRegression(max_iter=10_000)).fit(rows, labels)
        with pytest.raises(errors.UnsupportedError, match="not affine"):
            models.LogisticRegression.from_sklearn(fitted)


def test_words_for_columns(ckks_client):
    model = models.LinearRegression([1, 2], 0)
    for rows in ([["a", "b"]], np.array([["a", 1.0]], object)):
        with pytest.raises(TypeError, match="OneHotEncoder"):
            model.encrypt(ckks_client, rows)
    with pytest.raises(TypeError, match=r"girih.models.Rows"):
        model.predict(ckks_client.encrypt([[0.5, 1]]))


def test_decision_tree(iris, client, server):
    from sklearn.tree import DecisionTreeClassifier

    rows, labels = iris
    # Labels that are not numbers of classes.
    labels = labels * 10 + 5
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)
    tree = models.DecisionTree.from_sklearn(fitted, rows, bits=8)
    # Rounding moves few labels.
    assert (tree.predict(rows) == fitted.predict(rows)).sum() >= 145
    assert "4 features of 8 bits" in repr(tree)
    circuit = girih.Circuit(tree.netlist, client.parameters, log2_failure=-1.0)
    picked = rows[::15]
    outputs, _ = server.run(circuit, tree.encrypt(client, picked))
    assert (tree.decrypt(client, outputs) == tree.predict(picked)).sum() >= len(picked) - 1
    same = circuit.encrypt(client, tree.quantise(picked))
    assert (tree.encrypt(client, picked).decrypt(client) == same.decrypt(client)).all()
    with pytest.raises(errors.MismatchError, match="a label of this tree has"):
        tree.decrypt(client, same)
    with pytest.raises(TypeError, match="tree_"):
        models.DecisionTree.from_sklearn(5, rows)
    with pytest.raises(girih.Error, match=r"\(rows, 4\)"):
        tree.predict(rows[:, :2])
