"""A decision tree of scikit-learn labels encrypted flowers.

    pip install scikit-learn
    python crates/python/examples/iris_tree.py --parameters STD128
"""

import argparse

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import girih
from girih import models


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--parameters", default="INSECURE_TOY")
    arguments.add_argument("--device")
    arguments.add_argument("--flowers", type=int, default=30)
    chosen = arguments.parse_args()

    rows, species = load_iris(return_X_y=True)
    trained = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, species)
    tree = models.DecisionTree.from_sklearn(trained, rows, bits=6)
    picked = np.random.default_rng(0).permutation(len(rows))[: chosen.flowers]
    flowers = rows[picked]

    client = girih.ClientKey.generate(chosen.parameters)
    server = girih.ServerKey(client.evaluation_keys(), chosen.device)
    circuit = girih.Circuit(tree.netlist, client.parameters)
    encrypted = tree.encrypt(client, flowers)
    outputs, report = server.run(circuit, encrypted)
    labels = tree.decrypt(client, outputs)

    print(f"{circuit} on {server.device}: {report['seconds']:.2f} s for {len(flowers)} flowers")
    same = (labels == tree.predict(flowers)).sum()
    print(f"{same} labels are those of the rounded tree in the clear")
    print(f"{(labels == trained.predict(flowers)).sum()} are those of scikit-learn's tree")
    print(f"{(labels == species[picked]).sum()} are the true species")


if __name__ == "__main__":
    main()
