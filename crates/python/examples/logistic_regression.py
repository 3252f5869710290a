"""A hospital asks a service for diagnoses without showing its patients' measurements.

    pip install scikit-learn
    python crates/python/examples/logistic_regression.py --parameters CKKS_N14_D40

The service knows the model, trained on scikit-learn's breast cancer data; the hospital knows the
patients and the key.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import girih
from girih import ckks, models


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--parameters", default="INSECURE_CKKS_D40_N10")
    arguments.add_argument("--device")
    arguments.add_argument("--patients", type=int, default=64)
    chosen = arguments.parse_args()

    rows, labels = load_breast_cancer(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(rows, labels, random_state=0)
    scaler = StandardScaler().fit(train)
    trained = LogisticRegression().fit(scaler.transform(train), train_labels)
    test = scaler.transform(test)[: chosen.patients]
    test_labels = test_labels[: chosen.patients]

    # The service publishes which keys its model needs.
    model = models.LogisticRegression.from_sklearn(trained)

    # The hospital makes keys and encrypts.
    client = ckks.ClientKey.generate(chosen.parameters)
    keys = model.evaluation_keys(client, multiplication=False)
    # What no measurement exceeds is public: a power of two well above what scaled ones reach.
    patients = model.encrypt(client, test, magnitude=16)

    # The service computes on what it cannot read.
    start = time.monotonic()
    with girih.worker.server(keys, chosen.device) as server:
        scores = model.decision_function(patients)
        # Copied back, so that the time is that of the whole work.
        scores = scores.to_host()
    seconds = time.monotonic() - start

    # The hospital decrypts.
    predictions = model.decrypt_labels(client, scores)
    error = np.abs(model.decrypt(client, scores) - trained.decision_function(test)).max()
    same = (predictions == trained.predict(test)).sum()
    right = (predictions == test_labels).sum()
    print(f"{len(test)} patients on {server.device} in {seconds:.2f} s, loading included")
    print(f"scores within {error:.1e} of those in the clear; {same} labels are the same")
    print(f"{right} diagnoses are right")


if __name__ == "__main__":
    main()
